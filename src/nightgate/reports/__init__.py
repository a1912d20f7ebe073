"""What people and CI read of a run. Reports render summary documents; they decide nothing."""
