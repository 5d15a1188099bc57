"""Worker processes confined by the operating system. Knows no job."""
