"""From columns of records (numbers, categories, times, missing values) to rows of numbers."""
