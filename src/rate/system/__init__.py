"""What touches the operating system: files, locks, signals, worker processes, devices."""
