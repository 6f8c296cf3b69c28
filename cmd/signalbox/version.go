package main

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// version is set by releases with -ldflags "-X main.version=v1.2.3". Otherwise it is what the Go tool
// knows.
var version string

// programVersion is the version as hosts tell it to each other: printable ASCII, no spaces, not long.
func programVersion() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "(devel)" {
		v = ""
	}
	v = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, cmp.Or(v, "devel"))
	return v[:min(len(v), 64)]
}
