"""The simulated instrumented drive, played into real ports."""
