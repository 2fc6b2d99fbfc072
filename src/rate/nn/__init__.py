"""Neural building blocks: attention, transformer, memory, encoders, heads."""
