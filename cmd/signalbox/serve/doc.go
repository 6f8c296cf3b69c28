// Package serve implements the commands that run hosts: serve runs a host (package server/host), and init creates the
// first host's data directory.
//
// Start at Commands. demo.go is serve --demo, three hosts in one process. process.go prepares a process for hosts,
// http_api.go serves the HTTP API for a host, and load_meter.go measures a host for the console.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands that run hosts.
func Commands(s cli.Streams) []*cobra.Command { return []*cobra.Command{newServe(s), newInit(s)} }
