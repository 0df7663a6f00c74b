"""Methods of writing code for a repository: RRR, and those that it is compared with (section 5.1)."""
