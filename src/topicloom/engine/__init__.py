"""What every model runs on: samplers, the one loop, checkpoints, threads, estimates. It knows no family of models."""
