package main

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	levels "github.com/signalbox/signalbox/protocol/level"
)

// version, commit and date are set by releases with -ldflags "-X main.version=v1.2.3". Otherwise the Go tool's build
// information is used.
var version, commit, date string

// buildObject is the program's build information as JSON.
type buildObject struct {
	Version, Commit, Date string
	NewestLevel           int `name:"supported_feature_level"`
}

// newVersion returns the command version.
func newVersion(f *cli.Frame) *cobra.Command {
	return f.Local(&cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Prints the version of this program, its commit and date, and the newest feature level
that it supports. --version prints the version alone; signalbox status shows the
versions of hosts.`,
		Example: `  signalbox version
  signalbox version -o json`,
		RunE: func(*cobra.Command, []string) error {
			o := buildObject{Version: programVersion(), Commit: commit, Date: date, NewestLevel: int(levels.Newest)}
			if info, ok := debug.ReadBuildInfo(); ok {
				o.Commit = cmp.Or(o.Commit, buildSetting(info, "vcs.revision"))
				o.Date = cmp.Or(o.Date, buildSetting(info, "vcs.time"))
			}
			return f.Show(o, cli.Fields("signalbox", o.Version, "commit", o.Commit, "date", o.Date, "newest level",
				o.NewestLevel))
		},
	})
}

// buildSetting returns the Go tool's build setting with a key, empty if missing.
func buildSetting(info *debug.BuildInfo, key string) string {
	if s := cli.Find(info.Settings, func(s *debug.BuildSetting) bool { return s.Key == key }); s != nil {
		return s.Value
	}
	return ""
}

// programVersion returns the version for reports between hosts: short printable ASCII without spaces.
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
	return v[:min(len(v), 64-len(levels.Mark()))] + levels.Mark()
}
