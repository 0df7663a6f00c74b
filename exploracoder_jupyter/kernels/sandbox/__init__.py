"""What siblings can see, use and reach on this machine."""
