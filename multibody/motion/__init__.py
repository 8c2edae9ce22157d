"""What holds at one moment: kinematic problems, accelerations and multipliers, their derivatives, energy."""
