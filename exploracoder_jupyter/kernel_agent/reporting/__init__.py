"""What a sibling reports after each cell: changed names and files, warnings, and why the cell failed."""
