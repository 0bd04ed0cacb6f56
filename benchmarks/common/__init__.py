"""What the three benchmarks share.

- ledger: results as JSON, kept after every row
- tables: rows of results as lines of text and as Markdown
- stepping: timing the engine's iterations
"""
