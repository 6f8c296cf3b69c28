// Package backup implements the commands that save, verify, show and restore backups, and the disaster recovery
// command, which builds a cluster from surviving hosts' data.
//
// Start at Command and Recover; Recover is a subcommand of cluster. save.go saves one backup, series.go saves
// successive backups into a directory; file.go limits the rate. rights.go decides which rights a restore brings back,
// and remnant.go compares survivors.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/restore"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Command returns the backup commands.
func Command(f *cli.Frame) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "backup",
		Short: "Save, verify, show and restore backups",
		Long: `A backup is one file with the state of every shard. Restoring a backup creates another
cluster with the same nodes, persistent semaphores, rollouts and processes, and without
sessions. Fencing tokens in the new cluster are larger than all tokens that the old
cluster gave, including tokens given after the backup.

A backup contains all data and all token hashes. Protect the file accordingly.`,
	}, newSave(f), newVerify(f), newShow(f), newRestore(f))
}

// open opens a file or standard input.
func open(f *cli.Frame, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(f.In), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.Errorf(cli.ExitNotFound, "cannot read the backup %s: %w; give the path of a backup file, or - "+
			"for standard input", cli.Safe(name), errors.Unwrap(err))
	}
	return file, nil
}

// load reads a complete backup, or the part of a cluster.
func load(f *cli.Frame, name string, read func(io.Reader) (*backup.States, error)) (*backup.States, error) {
	file, err := open(f, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, err := read(file)
	if err != nil {
		return nil, cli.Errorf(cli.ExitData, "%s: %w", cli.Safe(name), err)
	}
	return s, nil
}

// Object is a backup as JSON.
type Object struct {
	Cluster     string
	ClusterName string
	Generation  string
	Begun       string
	Level       int `name:"feature_level"`
	Version     string
	Host        string
	Shards      []sectionObject
	Nodes       []savedNode
}

// sectionObject is a shard's state.
type sectionObject struct {
	Shard   uint64
	Term    uint64
	Index   uint64
	Objects uint64
	Bytes   uint64
}

// savedNode is a node in a backup.
type savedNode struct {
	ID         uint64
	Path       string
	Semaphores int
	Rollouts   int
	Processes  int
	Bytes      uint64
}

func newObject(s *backup.States) Object {
	h := &s.Header
	o := Object{
		Cluster: h.Cluster, ClusterName: h.ClusterName, Generation: generationText(identity.Generation(h.Generation)),
		Begun: h.Begun.UTC().Format(time.RFC3339), Level: int(h.Level), Version: h.Version, Host: h.Host,
	}
	at := s.Sections[0]
	o.Shards = append(o.Shards, sectionObject{Term: at.Term, Index: at.Index})
	for _, id := range s.Shards() {
		m, at := s.Data[id], s.Sections[id]
		use := m.Usage(0)
		o.Shards = append(o.Shards, sectionObject{uint64(id), at.Term, at.Index, use.Objects, use.Bytes})
	}
	for after, more := "", true; more; {
		var page []meta.Node
		page, more = s.Meta.Nodes("", after, shard.MaxPage)
		for i := range page {
			o.Nodes = append(o.Nodes, savedNodeOf(s, &page[i]))
			after = page[i].Path
		}
	}
	return o
}

func savedNodeOf(s *backup.States, n *meta.Node) savedNode {
	out := savedNode{ID: uint64(n.ID), Path: n.Path}
	for _, m := range s.Data {
		out.Bytes += m.Usage(n.ID).Bytes
		var page []shard.ObjectView
		for after, more := "", true; more; {
			page, after, more = m.ListObjects(n.ID, "", after, shard.MaxPage, page[:0])
			for i := range page {
				switch page[i].Kind {
				case shard.KindSemaphore:
					out.Semaphores++
				case shard.KindRollout:
					out.Rollouts++
				case shard.KindProcess:
					out.Processes++
				}
			}
		}
	}
	return out
}

// generationText formats a generation: the number, with the random bytes unless it is the first generation.
func generationText(g identity.Generation) string {
	if g == (identity.Generation{}) {
		return "0"
	}
	return fmt.Sprintf("%d (%x)", g.Number(), g[4:])
}

func newVerify(f *cli.Frame) *cobra.Command {
	return f.Local(&cobra.Command{
		Use:   "verify FILE|-",
		Short: "Verify a backup",
		Long: `Reads the whole backup as a restore would: seal, section checksums, and the state in
each section. Prints what is damaged.

Exit codes: 0 the backup is valid; 65 the backup is damaged; 66 the file does not exist.`,
		Example: `  signalbox backup verify signalbox.backup`,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := load(f, args[0], backup.Load)
			if err != nil {
				return err
			}
			o := newObject(s)
			return f.Line(o, "%s is valid: cluster %s, %d data shards, %d nodes, saved at %s", args[0], o.Cluster,
				len(s.Data), len(o.Nodes), o.Begun)
		},
	})
}

func newShow(f *cli.Frame) *cobra.Command {
	return f.Local(&cobra.Command{
		Use:   "show FILE|- [NODE SEMAPHORE]",
		Short: "Show the content of a backup, or the data of one semaphore",
		Long: `Shows the cluster in a backup, the log position of each shard, and the content of each
node. With a node and a semaphore name, prints the raw semaphore data.

Exit codes: 65 the backup is damaged; 66 the file, node or semaphore does not exist.`,
		Example: `  signalbox backup show signalbox.backup

  # one value
  signalbox backup show signalbox.backup /prod/config feature-flags`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 3 {
				return nil
			}
			return cli.Arguments("FILE|-")(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := load(f, args[0], backup.Load)
			if err != nil {
				return err
			}
			if len(args) == 3 {
				return showSaved(f, s, args[1], args[2])
			}
			return showBackup(f, newObject(s))
		},
	})
}

// showSaved prints a semaphore's data.
func showSaved(f *cli.Frame, s *backup.States, path, name string) error {
	n, ok := s.Meta.Node(path)
	if !ok {
		return cli.Errorf(cli.ExitNotFound, "the backup has no node %s", cli.Safe(path))
	}
	for _, m := range s.Data {
		var d shard.Description
		ref := shard.Ref{Kind: shard.KindSemaphore, Node: n.ID, Name: name}
		if m.Describe(ref, shard.DescribeOptions{}, &d) {
			return f.Raw([]byte(d.Data))
		}
	}
	return cli.Errorf(cli.ExitNotFound, "node %s has no semaphore %s in the backup", cli.Safe(path), cli.Safe(name))
}

func showBackup(f *cli.Frame, o Object) error {
	fields := cli.Fields("cluster", o.Cluster, "generation", o.Generation, "begun", o.Begun, "level", o.Level,
		"version", o.Version, "from", cmp.Or(o.Host, "the shard leaders"))
	shards := cli.Map(o.Shards, func(s sectionObject) []any {
		return []any{s.Shard, s.Term, s.Index, s.Objects, cli.ByteText(int64(s.Bytes))}
	})
	nodes := cli.Map(o.Nodes, func(n savedNode) []any {
		return []any{n.Path, n.Semaphores, n.Rollouts, n.Processes, cli.ByteText(int64(n.Bytes))}
	})
	return f.Show(o, fields, cli.Section("shards", []string{"SHARD#", "TERM#", "INDEX#", "OBJECTS#", "SIZE#"}, shards),
		cli.Section("nodes", []string{"PATH", "SEMAPHORES#", "ROLLOUTS#", "PROCESSES#", "SIZE#"}, nodes))
}

// newHostFlags configure a new cluster's first host.
type newHostFlags struct {
	dir, name, raft string
	shards          int
}

func (n *newHostFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&n.dir, "data-dir", "", "Data directory `DIR` for the first host of the new cluster. "+
		"Must be empty or missing")
	c.Flags().StringVar(&n.name, "name", "signalbox", "Host `NAME`")
	c.Flags().StringVar(&n.raft, "raft-advertise", "", "Address `HOST:PORT` for other hosts")
	c.Flags().IntVar(&n.shards, "shards", 0, "Data shards, `NUMBER`. 0 keeps the number in the backup")
	_ = c.MarkFlagDirname("data-dir")
}

func (n *newHostFlags) check() error {
	switch {
	case n.dir == "":
		return cli.Errorf(cli.ExitUsage, "--data-dir is missing; give the data directory for the new host")
	case n.shards < 0 || n.shards > meta.MaxDataShards:
		return cli.Errorf(cli.ExitUsage, "--shards must be 1 to %d", meta.MaxDataShards)
	}
	return nil
}

func newRestore(f *cli.Frame) *cobra.Command {
	var host newHostFlags
	var cluster, become string
	var keep bool
	c := f.Local(&cobra.Command{
		Use:   "restore FILE|-",
		Short: "Restore a backup into a new cluster",
		Long: `Creates the data directory for the first host of a new cluster from a backup. The
command starts no host: run signalbox serve, and let other hosts join with signalbox
serve --join.

The new cluster has no sessions. Owners and waiters, ephemeral semaphores, and members
of rollouts and processes are gone. Every fencing token, revision and session id is
larger than any that the old cluster can have given, so a store that checks fencing
tokens rejects all earlier writers.

Stop the old cluster first. Hosts refuse hosts from the other cluster, and clients of
the old cluster learn that their sessions are over; but while the old cluster runs there
are two clusters.

The backup also restores grants and tokens, including grants and tokens revoked after
the backup. The command lists them. --access keep restores them. --access drop restores
none: until new grants are made, only root tokens in host files work. Without --access
the command asks, or fails if there is no terminal. If the backup has no grants, tokens
and roles, the command does not ask.

Exit codes: 0 restored; 65 the backup is damaged, or the directory cannot be used; 66
the file does not exist; 64 the command line is wrong, or --access is needed and there
is no terminal.`,
		Example: `  signalbox backup restore signalbox.backup --data-dir /var/lib/signalbox --name a

  # with the id of the old cluster and all its rights, and other shards
  signalbox backup restore signalbox.backup --data-dir ./data --keep-cluster-id --shards 8 --access keep`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := host.check(); err != nil {
				return err
			}
			s, err := load(f, args[0], backup.Load)
			if err != nil {
				return err
			}
			back := rightsOf(s)
			drop, err := back.dropped(f, become)
			if err != nil {
				return err
			}
			why := "of " + back.saved.Format(time.RFC3339)
			if drop {
				why += ", without access rules"
			}
			f.Say("signalbox: the state is %s old; all later changes are lost",
				max(0, time.Since(s.Header.Begun)).Round(time.Second))
			return makeCluster(c.Context(), f, s, nil, restore.Options{
				Dir: host.dir, HostName: host.name, Raft: host.raft, Cluster: cluster, KeepID: keep, DropRights: drop,
				Shards: host.shards, Version: f.Version, By: "signalbox backup restore", Why: why,
			})
		},
	})
	host.add(c)
	c.Flags().StringVar(&cluster, "cluster-name", "", "Cluster `NAME`")
	c.Flags().BoolVar(&keep, "keep-cluster-id", false, "Keep the cluster id from the backup")
	c.Flags().StringVar(&become, "access", "", "Whether to keep or drop the access rules in the backup: "+
		"`keep|drop`. Default: ask, if there are any")
	return c
}

// makeCluster creates the first host, and prints the operator's next steps. left contains a recovered cluster's
// survivors.
func makeCluster(ctx context.Context, f *cli.Frame, s *backup.States, left []remnantObject, o restore.Options) error {
	cli.KeepPrivate()
	ctx, stop := cli.UntilInterrupted(ctx)
	defer stop()
	made, err := restore.Make(ctx, o, s)
	if err != nil {
		return cli.ExitWith(cli.ExitData, err)
	}
	id := &made.Identity
	f.Say("signalbox: %d objects that cannot be restored are omitted", made.Left)
	back := rightsOf(s)
	principals := back.principals()
	if o.DropRights {
		principals = nil
		f.Say("signalbox: all access rules are dropped: only tokens in the files of hosts are accepted")
	}
	f.Say("signalbox: hosts of the old cluster are refused from now on. Do not start them again: their data is " +
		"obsolete")
	return f.Line(Made{o.Dir, id.HostName, id.Cluster, generationText(id.Generation), made.Nodes, made.Objects,
		principals, left},
		"%s is host %s of the new cluster %s, generation %d, with %d nodes and %d objects. Start it with signalbox "+
			"serve",
		o.Dir, id.HostName, id.Cluster, id.Generation.Number(), made.Nodes, made.Objects)
}

// Made is a new cluster as JSON.
type Made struct {
	Path       string
	HostName   string
	Cluster    string
	Generation string
	Nodes      int
	Objects    int
	// Principals are the principals with rights in the new cluster.
	Principals []admin.Principal
	Remnants   []remnantObject
}
