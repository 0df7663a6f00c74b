"""Report sent by a sibling after each cell: changed names and files, warnings, and why the cell failed."""
