"""Trying windows, time bins, resolutions and values of k on data of people, so that an owner chooses by looking."""
