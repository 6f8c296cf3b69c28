package config

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
)

func newEdit(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "edit PATH NAME",
		Short: "Edit a config entry",
		Long: `Opens a config entry in $VISUAL or $EDITOR, or vi, and puts the saved text if the text
was changed. If the entry does not exist the file is empty at first.

If the entry was changed during editing, nothing is put: the exit code is 79, and the
edited text is kept in the file that the command prints.`,
		Example: `  signalbox config edit /prod/jobs limits
  EDITOR='code --wait' signalbox config edit /prod/jobs limits`,
		RunE: func(c *cobra.Command, args []string) error {
			e := &edit{f: f, c: c, path: args[0], name: args[1]}
			return e.run()
		},
	}
}

// edit is an edit of a config entry.
type edit struct {
	f          *cli.Frame
	c          *cobra.Command
	path, name string
}

func (e *edit) run() error {
	old, err := e.get()
	if err != nil {
		return err
	}
	file, err := e.begin(old.Data)
	if err != nil {
		return err
	}
	value, err := e.edited(file)
	// Compare with the file: a file that is too large to store has no value.
	if text, failure := os.ReadFile(file); failure == nil && bytes.Equal(text, old.Data) {
		if err == nil {
			e.f.Say("no changes")
		}
		return errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	}
	if err == nil {
		err = e.put(old, value)
	}
	if err != nil {
		return fmt.Errorf("%w; the edited text is kept in %s", err, file)
	}
	return os.RemoveAll(filepath.Dir(file))
}

// get returns the current value, with revision 0 if missing.
func (e *edit) get() (v config.Value, err error) {
	err = e.f.Ask(e.c, func(ctx context.Context, box *client.Client) error {
		var err error
		v.Data, v.Revision, err = config.Get(ctx, box, e.path, e.name)
		if errors.Is(err, client.ErrSemaphoreNotFound) {
			return nil
		}
		v.Exists = err == nil
		return err
	})
	return v, err
}

// put stores the value if the value on which the edit is based is still current. The revision also increases when the
// semaphore gets a new owner, so a higher revision alone is not a conflict.
func (e *edit) put(old config.Value, value []byte) error {
	return e.f.Ask(e.c, func(ctx context.Context, box *client.Client) error {
		revision := old.Revision
		for {
			err := config.Put(ctx, box, e.path, e.name, value, config.IfRevision(revision))
			if err == nil {
				e.f.Say("config %s now has %s", cli.Safe(e.name), operation.Plural(len(value), "byte"))
			}
			if !errors.Is(err, client.ErrPreconditionFailed) {
				return err
			}
			data, newer, err := config.Get(ctx, box, e.path, e.name)
			exists := !errors.Is(err, client.ErrSemaphoreNotFound)
			if err != nil && exists {
				return err
			}
			if exists != old.Exists || !bytes.Equal(data, old.Data) || newer == revision {
				return cli.Errorf(cli.ExitState,
					"cannot edit %s: another client changed the entry during editing; nothing was "+
						"put", cli.Safe(e.name))
			}
			revision = newer
		}
	})
}

// begin writes the value to a file in a new directory. Only the current user may read the file. The file name has the
// value name's suffix, so that editors recognise the file type.
func (e *edit) begin(data []byte) (file string, err error) {
	folder, err := os.MkdirTemp("", "signalbox-edit-")
	if err != nil {
		return "", fmt.Errorf("cannot edit %s: %w", cli.Safe(e.name), err)
	}
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, e.name)
	file = filepath.Join(folder, "signalbox-"+name[max(0, len(name)-64):])
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "", fmt.Errorf("edit %s: %w", cli.Safe(e.name), err)
	}
	return file, nil
}

// edited runs the editor and returns the resulting file content.
func (e *edit) edited(file string) ([]byte, error) {
	editor := cmp.Or(e.f.Variable("VISUAL"), e.f.Variable("EDITOR"), "vi")
	// As in git, the shell splits the variable's text, and quotes the file.
	run := exec.Command("sh", "-c", editor+` "$@"`, editor, file)
	run.Stdin, run.Stdout, run.Stderr, run.Env = e.f.In, e.f.Out, e.f.Err, e.f.Environment
	// Interrupts are meant for the editor.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("cannot edit %s: the editor %s failed: %w", cli.Safe(e.name), cli.Safe(editor), err)
	}
	return e.f.Data("@" + file)
}
