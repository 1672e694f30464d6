"""Trying many algorithms and values of k on one table, measured alike."""
