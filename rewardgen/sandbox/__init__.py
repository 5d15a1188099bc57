"""Worker processes, confined by the operating system, and the jobs they are given. Knows no job itself."""
