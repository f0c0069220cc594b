"""What users call beside a run: probes, benches of a library, inspection and advice, doctor, bundle."""
