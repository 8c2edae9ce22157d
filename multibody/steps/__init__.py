"""How time goes on: formulations and integrators behind one stepper, one state at a time or four side by side."""
