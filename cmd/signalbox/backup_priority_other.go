//go:build !linux

package main

// giveWay does nothing where a process cannot lower the priority of its threads as on Linux.
func giveWay() {}
