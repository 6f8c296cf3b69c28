"""The package version."""

VERSION = "0.1.0"
