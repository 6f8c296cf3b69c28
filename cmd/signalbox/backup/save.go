package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// progressEvery is the interval between progress messages.
const progressEvery = 5 * time.Second

// saveCommand is one run of backup save.
type saveCommand struct {
	*cli.Frame
	every  time.Duration
	keep   int
	listen string
	rate   cli.SizeFlag
}

func newSave(f *cli.Frame) *cobra.Command {
	s := &saveCommand{Frame: f, rate: defaultRate}
	c := f.Command(&cobra.Command{
		Use:   "save FILE|DIR|-",
		Short: "Save the state of a running cluster to a file",
		Long: `Saves the state of a running cluster to FILE, or to standard output. The state of each
shard is read from the shard leader. The backup contains every change that was
acknowledged before the command started. The token needs the permission backup on /,
which the role root includes.

The command reads at most --max-rate bytes per second and runs at low priority (nice -n
10), to disturb hosts and clients little, even on the same machine.

FILE appears when the backup is complete. Until then the file name ends in ` + cli.PartialSuffix + `. If a
shard leader is lost, the command reads the shard again from the next leader. The command
fails if no data arrives for as long as --timeout.

With --keep the command saves into the directory DIR, with file names that sort by time,
and deletes all but the newest backups: use this form in cron jobs. With --interval the
command keeps running and saves at each interval; --keep is 24 by default. A failed
backup is reported, and tried again at the next interval. --metrics-listen serves the
time of the last success at /metrics, for alerts. Only one process at a time can save
into a directory.

Backup files are readable by the file owner only, because they contain all data and
token hashes.

Exit codes: 0 saved; 69 not saved in time; 77 permission denied.`,
		Example: `  signalbox backup save signalbox.backup

  # to a store
  signalbox backup save - | aws s3 cp - s3://backups/signalbox.backup

  # every hour, for a day
  signalbox backup save /var/backups/signalbox --interval 1h --keep 24`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := s.check(c, args[0]); err != nil {
				return err
			}
			cli.KeepPrivate()
			if f.Out == os.Stdout { // the process runs only this command
				giveWay()
			}
			return f.Stay(c, func(ctx context.Context, k *cli.Connection, box *client.Client) error {
				source := source{admin.New(box), k.Timeout, uint64(s.rate), f.Say}
				if s.every > 0 || c.Flags().Changed("keep") {
					return s.series(ctx, args[0], &source)
				}
				return s.once(ctx, args[0], &source)
			})
		},
	})
	c.Flags().DurationVar(&s.every, "interval", 0, "Keep running, and save into a directory at this interval, "+
		"`DURATION` such as 1h")
	c.Flags().IntVar(&s.keep, "keep", 24, "Backups to keep in the directory, `NUMBER`")
	c.Flags().Var(&s.rate, "max-rate", "Maximum `SIZE` to read per second, such as 64MiB. 0 is no limit")
	c.Flags().StringVar(&s.listen, "metrics-listen", "", "Address `HOST:PORT` for backup metrics")
	return c
}

func (s *saveCommand) check(c *cobra.Command, target string) error {
	switch {
	case s.every == 0 && s.listen != "":
		return cli.Misuse(c, "--metrics-listen requires --interval")
	case s.every == 0 && !c.Flags().Changed("keep"):
		return nil
	case s.every != 0 && s.every < time.Second:
		return cli.Misuse(c, "--interval must be at least one second")
	case s.keep < 1:
		return cli.Misuse(c, "--keep must be at least 1")
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return cli.Errorf(cli.ExitNotFound, "cannot save backups in %s: %w; create the directory, or give another",
			cli.Safe(target), errors.Unwrap(err))
	case !info.IsDir():
		return cli.Misuse(c, "%s must be a directory if --interval or --keep is given", cli.Safe(target))
	}
	return nil
}

// once saves a single backup.
func (s *saveCommand) once(ctx context.Context, target string, from *source) (err error) {
	var done admin.Backup
	if target == "-" {
		if done, err = from.save(ctx, s.Out); err == nil {
			s.Say("signalbox: %s", savedText("the backup", &done))
		}
		return err
	}
	err = cli.WriteWhole(target, func(w io.Writer) (err error) {
		done, err = from.save(ctx, w)
		return err
	})
	if err != nil {
		return err
	}
	return s.Line(Saved{target, done}, "%s", savedText(target, &done))
}

func savedText(target string, b *admin.Backup) string {
	return fmt.Sprintf("%s has %d data shards of cluster %s, generation %d, with %s", target, b.Shards, b.Cluster,
		b.Generation, cli.ByteText(b.Bytes))
}

// Saved is a finished backup with its file.
type Saved struct {
	Path string
	admin.Backup
}

// source is the cluster to save.
type source struct {
	admin    *admin.Admin
	patience time.Duration
	rate     uint64
	say      func(format string, args ...any)
}

// errNothingCame is the context cause if a backup made no progress.
var errNothingCame = errors.New("no data arrived from the cluster within --timeout")

// save writes a backup, reports progress, and gives up a backup that makes no progress.
func (s *source) save(ctx context.Context, w io.Writer) (admin.Backup, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(s.patience, func() { cancel(errNothingCame) })
	defer stalled.Stop()
	said := time.Now()
	w = &steady{ctx: ctx, w: w, rate: s.rate}
	paused := &pausing{w: w, stop: func() { stalled.Stop() }, resume: func() { stalled.Reset(s.patience) }}
	done, err := s.admin.Backup(ctx, paused, func(b admin.Backup) {
		if now := time.Now(); now.Sub(said) >= progressEvery {
			said = now
			s.say("signalbox: %d of %d shards, %s", b.Saved, b.Shards+1, cli.ByteText(b.Bytes))
		}
	})
	if errors.Is(context.Cause(ctx), errNothingCame) {
		err = cli.ExitWith(cli.ExitUnavailable, cli.EndedBy(ctx, err))
	}
	return done, err
}

// pausing excludes the writer's time from the progress timeout: waiting for a pipe's reader is not the cluster's
// fault.
type pausing struct {
	w            io.Writer
	stop, resume func()
}

// Write implements io.Writer.
func (p *pausing) Write(b []byte) (int, error) {
	p.stop()
	defer p.resume()
	return p.w.Write(b)
}

// backupNice is the nice value for a process that saves backups: if processors are contended, the process gets a
// tenth of a host's share.
const backupNice = 10

// giveWay lowers the priority of all threads, which later threads inherit. A thread that starts during a pass may
// have inherited the old priority, so passes continue until two in a row found nothing to lower. A process that
// already has this priority is left unchanged. A process that may not lower its priority, or has no /proc, keeps the
// old priority.
func giveWay() {
	for quiet, passes := 0, 0; quiet < 2 && passes < 100; passes++ {
		quiet++
		threads, _ := os.ReadDir("/proc/self/task")
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			// On Linux, the system call returns 20 minus the value, so that the result does not look like an error.
			now, err := unix.Getpriority(unix.PRIO_PROCESS, id)
			if err == nil && 20-now < backupNice && unix.Setpriority(unix.PRIO_PROCESS, id, backupNice) == nil {
				quiet = 0
			}
		}
	}
}
