"""Pure functions on arrays: no input or output, no pandas, explicit seeds, and the source of each method beside it."""
