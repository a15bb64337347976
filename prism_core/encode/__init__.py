"""The write side: from an event to changes. Stages are functions from a read-only view to what they found."""
