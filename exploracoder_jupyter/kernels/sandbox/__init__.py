"""What siblings may see, use and reach on this machine."""
