"""The model on disk: releases of a window, hierarchies."""
