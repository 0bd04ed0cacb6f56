"""The data: how columns are stored, and the questions that may be asked of them."""
