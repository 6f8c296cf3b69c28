// Package inspect implements the command that shows a data directory's content.
package inspect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/datadir"
	"github.com/signalbox/signalbox/server/identity"
)

// Command returns the command that shows a data directory's content.
func Command(f *cli.Frame) *cobra.Command {
	return f.Local(&cobra.Command{
		Use:   "inspect DIR",
		Short: "Inspect the data directory of a stopped host",
		Long: `Shows the content of a data directory: host and cluster, log size, log entries per
shard, snapshots, and the content of the newest snapshots: nodes with their numbers of
sessions, semaphores, owners and waiters. Changes after a snapshot are in the log and
not shown. The command verifies every file checksum and names damaged or missing files.
It writes nothing, and no host can start on the directory during the inspection.

If a host runs on the directory, log and snapshots are listed but not read: use
signalbox status.

Exit codes: 65 the directory cannot be used, or something is damaged or missing; 64 the
command line is wrong. signalbox help exit-codes lists the others.`,
		Example: `  signalbox inspect ./signalbox-data

  # every snapshot, and not only the newest
  signalbox inspect ./signalbox-data -o wide

  # is this copy of a directory sound?
  signalbox inspect /backup/signalbox-data > /dev/null && echo sound`,
		RunE: func(_ *cobra.Command, args []string) error { return inspect(f, args[0]) },
	})
}

// Object is a data directory as JSON.
type Object struct {
	Path        string
	InUse       string
	HostID      uint64
	HostName    string
	Cluster     string
	ClusterName string
	Shards      int
	Format      int
	CreatedBy   string
	Created     string
	Started     bool
	Incarnation string
	Starts      uint64 `name:"start_count"`
	Machine     string

	Hosts     []memberObject
	LogBytes  int64
	LogFiles  int
	Replicas  []replicaObject
	Snapshots []snapshotObject
	Nodes     []datadir.Node
	Problems  []inspectedObject
}

// memberObject is one of the cluster's initial hosts.
type memberObject struct {
	ID          uint64
	Name        string
	Raft        string
	Incarnation string
}

// replicaObject is a replica's log: the entries after the newest snapshot. A log whose last entry is below the first
// has no entries.
type replicaObject struct {
	Shard      uint64
	Host       uint64
	Term       uint64
	Commit     uint64
	FirstEntry uint64
	LastEntry  uint64
	Snapshot   uint64
}

// snapshotObject is a snapshot as JSON.
type snapshotObject struct {
	Shard  uint64
	Index  uint64
	Bytes  int64
	Saved  string
	Path   string
	Newest bool
}

// inspectedObject is a damaged or missing file.
type inspectedObject struct {
	Path    string
	Problem string
}

// inspect shows a directory's content.
func inspect(f *cli.Frame, path string) error {
	d, err := datadir.Open(path)
	if err != nil {
		return cli.Errorf(cli.ExitData, "inspect: %w", err)
	}
	defer d.Close()
	o := newObject(d)
	if d.InUse == "" {
		if err := readLog(d, &o); err != nil {
			return cli.Errorf(cli.ExitData, "inspect: %w", err)
		}
		readContents(f, d, &o)
	}
	if err := showDirectory(f, &o); err != nil {
		return err
	}
	if n := len(o.Problems); n > 0 {
		return cli.Errorf(cli.ExitData, "inspect: %s: %d files are damaged or missing, and no host can start on "+
			"the directory; replace the host: let a new host with an empty directory join",
			cli.Safe(path), n)
	}
	if d.InUse != "" {
		f.Say("signalbox: %s runs on the directory: log and snapshots were not read", d.InUse)
	}
	return nil
}

func newObject(d *datadir.Directory) Object {
	id := &d.Identity
	o := Object{
		Path: d.Path, InUse: d.InUse, HostID: uint64(id.HostID), HostName: id.HostName, Cluster: id.Cluster,
		ClusterName: id.ClusterName, Shards: id.Shards, Format: identity.Format, CreatedBy: id.CreatedBy,
		Created: id.Created.UTC().Format(time.RFC3339), Started: id.Started, Machine: d.Machine,
		Incarnation: id.Incarnation.String(), Starts: id.Starts, LogBytes: d.LogBytes(), LogFiles: len(d.Logs),
	}
	o.Hosts = cli.Map(id.InitialMembers, func(h identity.InitialMember) memberObject {
		return memberObject{uint64(h.ID), h.Name, h.Raft, h.Incarnation.String()}
	})
	for _, s := range d.Snapshots {
		newest, _ := d.Newest(s.Shard)
		o.Snapshots = append(o.Snapshots, snapshotObject{
			s.Shard, s.Index, s.Bytes, s.Saved.UTC().Format(time.RFC3339), s.Path, newest.Index == s.Index,
		})
	}
	return o
}

// readLog reads the log, and verifies all files.
func readLog(d *datadir.Directory, o *Object) error {
	log, err := d.ReadLog()
	if err != nil {
		return err
	}
	for _, r := range log.Replicas {
		o.Replicas = append(o.Replicas, replicaObject{
			r.Shard, r.Replica, r.Term, r.Commit, r.First, r.Last, r.Snapshot,
		})
	}
	for _, p := range log.Problems {
		file := p.File
		if inside, err := filepath.Rel(d.Path, file); err == nil {
			file = inside
		}
		o.Problems = append(o.Problems, inspectedObject{file, p.Err.Error()})
	}
	return nil
}

// HasProblem reports whether a file has a problem.
func (o *Object) HasProblem(path string) bool {
	return slices.ContainsFunc(o.Problems, func(p inspectedObject) bool { return p.Path == path })
}

// readContents reads every shard's newest snapshot.
func readContents(f *cli.Frame, d *datadir.Directory, o *Object) {
	var content datadir.Content
	bar := cli.NewProgress(f)
	for _, s := range d.Snapshots {
		if newest, _ := d.Newest(s.Shard); newest != s || o.HasProblem(s.Path) {
			continue
		}
		err := d.Read(s, &content, func(s datadir.Snapshot, read int64) {
			bar.Show(fmt.Sprintf("reading the snapshot of shard %d", s.Shard), read, s.Bytes)
		})
		if err != nil {
			o.Problems = append(o.Problems, inspectedObject{s.Path, err.Error()})
		}
	}
	bar.End()
	o.Nodes = content.Nodes
}

func showDirectory(f *cli.Frame, o *Object) error {
	name := o.Cluster
	if o.ClusterName != "" {
		name += " (" + o.ClusterName + ")"
	}
	shards := fmt.Sprintf("%d, and the meta shard", o.Shards)
	log := fmt.Sprintf("%s in %d files", cli.ByteText(o.LogBytes), o.LogFiles)
	if !o.Started {
		log = "none: no host has used the directory"
	}
	host := fmt.Sprintf("%s (id %d)", o.HostName, o.HostID)
	if o.Cluster == "" {
		host, name, shards = o.HostName, "none: the host is not bootstrapped yet", "none"
	}
	fields := cli.Fields("path", o.Path, "host", host, "incarnation", o.Incarnation, "starts", o.Starts,
		"cluster", name, "shards", shards, "format", o.Format, "created", o.Created+" by version "+o.CreatedBy,
		"machine", o.Machine, "in use", cmp.Or(o.InUse, "no"), "log", log, "snapshots", len(o.Snapshots))
	hosts := cli.Map(o.Hosts, func(h memberObject) []any { return []any{h.ID, h.Name, h.Raft, h.Incarnation} })
	replicas := cli.Map(o.Replicas, func(r replicaObject) []any {
		entries := "none"
		if r.LastEntry >= r.FirstEntry {
			entries = fmt.Sprintf("%d to %d", r.FirstEntry, r.LastEntry)
		}
		return []any{r.Shard, r.Term, r.Snapshot, entries, r.Commit}
	})
	var snapshots [][]any
	for _, s := range o.Snapshots {
		if s.Newest || f.Wide() {
			snapshots = append(snapshots, []any{s.Shard, s.Index, cli.ByteText(s.Bytes), s.Saved, s.Path})
		}
	}
	nodes := cli.Map(o.Nodes, func(n datadir.Node) []any {
		return []any{n.ID, n.Path, n.Sessions, n.Semaphores, n.Owners, n.Waiters}
	})
	problems := cli.Map(o.Problems, func(p inspectedObject) []any { return []any{p.Path, p.Problem} })
	return f.Show(o, fields,
		cli.Section("Initial hosts", []string{"ID#", "NAME", "RAFT ADDRESS", "+INCARNATION"},
			hosts),
		cli.Section("Shards in the log", []string{"SHARD#", "TERM#", "SNAPSHOT#", "ENTRIES AFTER " +
			"SNAPSHOT", "COMMITTED#"},
			replicas),
		cli.Section("Snapshots", []string{"SHARD#", "INDEX#", "SIZE#", "SAVED", "+PATH"}, snapshots),
		cli.Section("Nodes in the snapshots", []string{"ID#", "PATH", "SESSIONS#", "SEMAPHORES#", "OWNERS#",
			"WAITERS#"}, nodes),
		cli.Section("Damaged or missing", []string{"PATH", "PROBLEM"}, problems))
}
