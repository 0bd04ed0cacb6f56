"""What every other package stands on: the compiler, its cache, the clock, checks of arguments, elementary functions."""
