"""The engine on blocks: every rule, oracle, steepness and step of ``ascd.engine``, with a block as the coordinate."""
