package hosts

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/identity"
)

// Moved is the result of adopting a directory, as JSON.
type Moved struct {
	Path     string
	HostName string
	Moved    bool
}

// newAdoptDataDir returns the command that adopts a copied data directory.
func newAdoptDataDir(f *cli.Frame) *cobra.Command {
	var killed bool
	c := f.Local(&cobra.Command{
		Use:   "adopt-data-dir DIR",
		Short: "Accept a copied data directory, for example after a disk replacement",
		Long: `A host does not start on a copied data directory: the copy may lack entries that the
host confirmed after the copy was made, and two hosts must never use one directory. This
command accepts the copy. By running it you assert that

  - the host was stopped before the copy was made, and has not run since,
  - the copy is complete,
  - the original directory is never used again.

The command is not needed after a move within a file system, or if the disk is mounted
elsewhere. If the host was not stopped cleanly, for example because the machine crashed,
pass --unclean-shutdown to assert that the host did not run while the copy was made.
Other hosts still refuse a copy that is older than what they know.

If you cannot assert this, empty the directory and let the host join as a new host:
signalbox serve --join HOST:PORT --name b --replace b.

Exit codes: 0 accepted, or nothing to do; 65 the directory is not a data directory, is
in use, or was copied while its host ran.`,
		Example: `  # the host has been stopped
  cp -a /mnt/old/data /mnt/new/data
  signalbox host adopt-data-dir /mnt/new/data
  signalbox serve --data-dir /mnt/new/data`,
		RunE: func(_ *cobra.Command, args []string) error {
			cli.KeepPrivate()
			return cli.ExitWith(cli.ExitData, moveHost(f, args[0], killed))
		},
	})
	c.Flags().BoolVar(&killed, "unclean-shutdown", false, "The host was killed, or its machine crashed, before "+
		"the copy was taken")
	return c
}

func moveHost(f *cli.Frame, dir string, killed bool) error {
	id, err := identity.Read(dir)
	if err != nil {
		return err
	}
	d, err := identity.Claim(dir)
	if err != nil {
		return err
	}
	defer d.Release()
	moved, err := d.Moved(killed)
	if errors.Is(err, identity.ErrRunning) {
		return cli.Errorf(cli.ExitData, "%w: the copied files may be inconsistent. Stop the host and copy its "+
			"directory again. If the host was killed before the copy was taken, pass --unclean-shutdown", err)
	}
	if err != nil {
		return err
	}
	text := "%s is now the directory of host %s. Never use the original directory again"
	if !moved {
		text = "%s was not moved since host %s used it: nothing to do"
	}
	return f.Line(Moved{dir, id.HostName, moved}, text, dir, id.HostName)
}
