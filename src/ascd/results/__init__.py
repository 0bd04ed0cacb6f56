"""What a run gives back: a solution with its status, a trace, progress on the way."""
