"""Parts as a user writes them, outside the package."""
