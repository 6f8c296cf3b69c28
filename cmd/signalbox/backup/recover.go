package backup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/server/restore"
	"github.com/signalbox/signalbox/shard/meta"
)

// recoverFlags are the flags for signalbox cluster recover.
type recoverFlags struct {
	newHostFlags
	from   []string
	export string
	empty  bool
	yes    bool
	left   []remnantObject // the surviving content, after read
}

// Recover returns the command that creates a cluster from survivors' content. Recover is a subcommand of cluster.
func Recover(f *cli.Frame) *cobra.Command {
	var r recoverFlags
	c := f.Local(&cobra.Command{
		Use:   "recover",
		Short: "Recover from quorum loss: create a cluster from the data of surviving hosts",
		Long: `Creates the first host of a new cluster from the data of surviving hosts, after a
permanent loss of quorum. If a majority of the hosts can be started again, start them
instead: then nothing is lost.

Stop all hosts first. Pass the survivors with --from: data directories of stopped hosts
on this machine, and files written by --export on other machines. The command takes the
most advanced state of each shard. Survivor data is read and never changed.

If some shards have replicas on some hosts only (signalbox cluster policy set
--replicas), pass enough directories to cover every shard. Otherwise the command fails
and names the missing shards and the hosts recorded for them. If no replica of a shard
is left, --accept-data-loss creates the shard empty. At least one data shard must have
survived.

Acknowledged changes that reached a survivor are kept. Changes that only lost hosts had
are lost. The command prints how many entries each survivor lacks, and when its log was
last written. If a survivor was offline for long, grants that were revoked meanwhile may
be restored.

The new cluster keeps the cluster id with the next generation, and has one host and no
sessions. All fencing tokens are larger than before. The new cluster rejects hosts of
the old cluster, which exit with code 65: empty their directories and let them join.

Exit codes: 0 created; 65 a directory or file cannot be used, or a shard is missing; 64
the command line is wrong, or there is no terminal.`,
		Example: `  # where one host is left
  signalbox cluster recover --from /var/lib/signalbox --data-dir /var/lib/signalbox-new --name c

  # where two of five are left: on the machine of the other one
  signalbox cluster recover --from /var/lib/signalbox --export d.export
  # and then here
  signalbox cluster recover --from /var/lib/signalbox,d.export --data-dir ./new --name c`,
		RunE: func(c *cobra.Command, _ []string) error { return r.run(c.Context(), f) },
	})
	r.add(c)
	c.Flags().StringSliceVar(&r.from, "from", nil, "Surviving state, `DIR|FILE,...`: data directories of stopped "+
		"hosts, and files written by --export")
	c.Flags().StringVar(&r.export, "export", "", "Write the surviving state to `FILE`; do not create a cluster")
	c.Flags().BoolVar(&r.empty, "accept-data-loss", false, "Create shards without a surviving replica as empty "+
		"shards. Their content is lost")
	c.Flags().BoolVarP(&r.yes, "yes", "y", false, "Do not ask for the cluster id")
	return c
}

func (r *recoverFlags) run(ctx context.Context, f *cli.Frame) error {
	if len(r.from) == 0 {
		return cli.Errorf(cli.ExitUsage, "--from is missing; give the data directories or export files from "+
			"surviving hosts: --from DIR|FILE,...")
	}
	if r.export == "" {
		if err := r.check(); err != nil {
			return err
		}
	}
	cli.KeepPrivate()
	ctx, stop := cli.UntilInterrupted(ctx)
	defer stop()
	best, err := r.read(ctx, f)
	if err != nil {
		return cli.ExitWith(cli.ExitData, err)
	}
	if r.export != "" {
		return r.write(f, best)
	}
	missing := best.Missing()
	for _, id := range missing {
		holders := cmp.Or(strings.Join(best.Holders(id), ", "), "no host")
		f.Say("signalbox: shard %d: no replica was found; recorded hosts are %s", id, holders)
	}
	if len(missing) > 0 && !r.empty {
		return cli.Errorf(cli.ExitData, "no replica for %s in the --from directories and files; add data "+
			"directories or export files from more hosts, or, if no replica is left, create the shards empty with "+
			"--accept-data-loss", backup.Names(missing))
	}
	if err := r.confirm(f, best.Header.Cluster, missing); err != nil {
		return err
	}
	return makeCluster(ctx, f, best, r.left, restore.Options{
		Dir: r.dir, HostName: r.name, Raft: r.raft, KeepID: true, Shards: r.shards, Version: f.Version,
		By: "signalbox cluster recover", Why: "of " + strings.Join(r.from, ", "),
	})
}

// read reads all survivors' content, and returns the most advanced state for every shard.
func (r *recoverFlags) read(ctx context.Context, f *cli.Frame) (*backup.States, error) {
	var all []*backup.States
	for _, from := range r.from {
		s, err := r.readOne(ctx, f, from)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	if len(all) == 1 && r.export != "" {
		return all[0], nil // the meta shard may be in another survivor's file
	}
	best, err := backup.Choose(all)
	if err != nil {
		return nil, err
	}
	r.left = remnantsOf(r.from, all, best)
	for i := range r.left {
		r.left[i].say(f)
	}
	f.Say("signalbox: changes acknowledged after that time are lost, and so are earlier changes that only lost " +
		"hosts had. The number of lost entries is unknown")
	return best, nil
}

func (r *recoverFlags) readOne(ctx context.Context, f *cli.Frame, from string) (*backup.States, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return load(f, from, backup.LoadPart)
	}
	above := filepath.Dir(filepath.Clean(from))
	if r.dir != "" {
		above = filepath.Dir(filepath.Clean(r.dir))
	}
	scratch, err := os.MkdirTemp(above, "signalbox-recover-")
	if err != nil {
		return nil, err
	}
	s, err := restore.Read(ctx, from, scratch, f.Version)
	return s, errors.Join(err, os.RemoveAll(scratch))
}

// write writes the surviving content to a file.
func (r *recoverFlags) write(f *cli.Frame, s *backup.States) error {
	file, err := os.OpenFile(r.export, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return cli.ExitWith(cli.ExitExists, err)
	}
	if err := errors.Join(s.Save(file), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(r.export))
	}
	return f.Line(Export{r.export, s.Header.Cluster, s.Header.Host}, "%s contains the state of host %s in cluster %s",
		r.export, s.Header.Host, s.Header.Cluster)
}

// Export is an export as JSON.
type Export struct {
	Path     string
	Cluster  string
	HostName string
}

// confirm asks the user to type the cluster id.
func (r *recoverFlags) confirm(f *cli.Frame, cluster string, missing []meta.ShardID) error {
	if r.yes {
		return nil
	}
	all := ""
	if len(missing) > 0 {
		all = " including all data in " + backup.Names(missing) + ","
	}
	what := fmt.Sprintf("changes that only lost hosts in cluster %s had are permanently lost,%s and hosts from the "+
		"old cluster are refused from now on", cluster, all)
	if !cli.IsTerminal(f.In) || !cli.IsTerminal(f.Err) {
		return cli.Errorf(cli.ExitUsage, "%s; nothing was done, because there is no terminal to ask for "+
			"confirmation; pass --yes to confirm", what)
	}
	fmt.Fprintf(f.Err, "signalbox: %s.\nType the cluster id to continue: ", what)
	line, _ := bufio.NewReader(f.In).ReadString('\n') // an answer that breaks off is no answer
	if strings.TrimSpace(line) != cluster {
		return errors.New("nothing was done")
	}
	return nil
}
