"""What every other package stands on: the compiler, its cache, the stopwatch, checks of arguments, elementary functions."""
