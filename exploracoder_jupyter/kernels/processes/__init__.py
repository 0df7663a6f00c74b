"""Processes of siblings: started or forked, watched, measured, ended."""
