// Package serve has the commands that run hosts: serve runs a host (package server/host), and init creates the data
// directory of the first host.
//
// Commands is the door. demo.go is serve --demo, three hosts in one process. process.go makes a process fit for hosts,
// http_api.go serves the HTTP API beside a host, and load_meter.go measures a host for the console.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// Commands returns the commands that run hosts.
func Commands(s cli.Streams) []*cobra.Command { return []*cobra.Command{newServe(s), newInit(s)} }
