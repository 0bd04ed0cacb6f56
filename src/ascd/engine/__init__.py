"""The engine of the paper: rules, oracles, steepness and steps as parts that can be exchanged, and the descent."""
