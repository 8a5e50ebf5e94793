"""Pure decisions: same input, same output; the present time is an argument."""
