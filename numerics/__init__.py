"""What every kernel uses: compiling and keeping machine code, small dense algebra, verdict codes."""
