"""What agz is measured by: the demo, and the inputs that it has in common with the benchmarks."""
