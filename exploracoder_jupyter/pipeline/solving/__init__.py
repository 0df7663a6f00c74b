"""The solution: assembled, run, checked against the user's check and tested on generated inputs (CoCoST)."""
