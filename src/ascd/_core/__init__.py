"""What every other package stands on: the compiler and its cache, threads, checks of arguments, exp and log."""
