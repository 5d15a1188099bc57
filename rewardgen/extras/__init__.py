"""Optional parts that register themselves; nothing in the package names one."""
