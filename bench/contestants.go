package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/bench/internal/delay"
	"github.com/signalbox/signalbox/bench/internal/race"
	"github.com/signalbox/signalbox/bench/internal/redis"
	"github.com/signalbox/signalbox/bench/internal/results"
	"github.com/signalbox/signalbox/bench/internal/zookeeper"
)

// contestants returns the cells' contestants that can run here, with their programs built. The report lists the others.
func (o *options) contestants(ctx context.Context, cells []race.Cell, r *results.Report,
	progress io.Writer) ([]race.Contestant, error) {
	wanted := func(name string) bool {
		return slices.ContainsFunc(cells, func(c race.Cell) bool { return slices.Contains(c.Contestants, name) })
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	source, err := o.build(ctx, wanted, progress)
	if err != nil {
		return nil, err
	}
	var all []race.Contestant
	if wanted(results.Signalbox) {
		version := race.FirstLine(ctx, source, "git", "describe", "--always", "--dirty", "--tags")
		all = append(all, race.Signalbox{Self: self, Loadgen: o.programs.Loadgen, Binary: o.programs.Signalbox,
			Of: version})
	}
	if wanted(results.Etcd) {
		version := strings.TrimPrefix(race.FirstLine(ctx, "", o.programs.Etcd, "--version"), "etcd Version: ")
		all = append(all, race.Etcd{Self: self, Binary: o.programs.Etcd,
			Of: version + withModule("go.etcd.io/etcd/client/v3")})
	}
	skip := func(name string, why error) {
		r.Skipped = append(r.Skipped, results.Skip{Contestant: name, Why: why.Error()})
		fmt.Fprintf(progress, "%s is skipped: %v\n", name, why)
	}
	if wanted(results.ZooKeeper) {
		if installed, err := zookeeper.Find(o.jar); err != nil {
			skip(results.ZooKeeper, err)
		} else {
			installed.Version += withModule("github.com/go-zookeeper/zk")
			all = append(all, race.ZooKeeper{Self: self, Installation: installed})
		}
	}
	if wanted(results.Redis) {
		if installed, err := redis.Find(); err != nil {
			skip(results.Redis, err)
		} else {
			installed.Version += withModule("github.com/redis/rueidis")
			all = append(all, race.Redis{Self: self, Installation: installed})
		}
	}
	switch {
	case !wanted(results.Floor):
	case o.settings.SyncDelay > 0 || o.settings.LinkDelay > 0:
		skip(results.Floor, errors.New("its syncs and messages are not delayed"))
	default:
		all = append(all, race.Floor{Self: self, Of: "log" + withModule("github.com/lni/dragonboat/v4")})
	}
	for _, c := range all {
		r.Versions = append(r.Versions, c.Version())
	}
	return all, nil
}

// build builds the wanted programs without a given path, fills in missing directories, and returns the source's
// directory if the programs run from there.
func (o *options) build(ctx context.Context, wanted func(string) bool, progress io.Writer) (source string, err error) {
	needed := o.settings.SyncDelay > 0 ||
		wanted(results.Signalbox) && (o.programs.Signalbox == "" || o.programs.Loadgen == "") ||
		wanted(results.Etcd) && o.programs.Etcd == ""
	source, err = race.Source()
	if o.output == "" {
		o.output = filepath.Join(source, "results") // the working directory, away from the source
	}
	if err != nil && !needed {
		return "", nil // all paths are given, and no source is needed
	}
	if err != nil {
		return "", err
	}
	if o.bin == "" {
		o.bin = filepath.Join(filepath.Dir(source), "bin")
	}
	if needed {
		fmt.Fprintf(progress, "building what is needed in %s\n", o.bin)
	}
	var flags []string
	if o.settings.SyncDelay > 0 {
		o.bin = filepath.Join(o.bin, "delayed")
		if flags, err = delay.Syncs(ctx, o.settings.Dir, o.settings.SyncDelay); err != nil {
			return "", err
		}
	}
	o.programs, err = o.programs.Build(ctx, source, o.bin, flags, wanted)
	return source, err
}

// withModule names a contestant's client module, with its version.
func withModule(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, module := range info.Deps {
		if module.Path == path {
			return fmt.Sprintf(" with %s %s", path, module.Version)
		}
	}
	return ""
}
