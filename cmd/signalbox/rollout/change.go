package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// locationHelp describes the notation for locations, for the help of commands with specFlags.
const locationHelp = `The form is NAME:DELAY:GATES, such as man:5s:errors,latency; delay and gates are
optional. The delay is the minimum age of a version in the location before.`

// fileHelp describes the spec file, for the help of commands with specFlags.
const fileHelp = `--file reads the spec from a YAML or JSON file, with the flag names as keys. signalbox
rollout spec prints such a file:

  locations:
    - name: sas
    - {name: man, delay: 5s, gates: [errors, latency]}
    - {name: vla, delay: 5s, require: 2, max-failing: 1}
  reelect-codes: [timestamp-out-of-range]
  progress-deadline: 10m`

func newCreate(f *cli.Frame) *cobra.Command {
	flags, orAlter := specFlags{}, false
	c := &cobra.Command{
		Use:   "create PATH NAME",
		Short: "Create a rollout: locations in order, with delays and gates",
		Long: `Creates a rollout, and shows it. Versions reach the locations in the given order, each
location with a delay after the location before.

` + locationHelp + `

` + fileHelp + `

If the rollout exists the exit code is 73, and nothing changes. With --or-alter the
existing rollout gets this spec.`,
		Example: `  # SAS at once, MAN 5 s after SAS, VLA 5 s after MAN
  signalbox rollout create /prod dns --location sas --location man:5s --location vla:5s

  # with gates, and with a source that is asked for versions
  signalbox rollout create /prod feed --location sas --location man:5s:errors,latency --version-source requested

  # from a file that is kept with the program
  signalbox rollout create /prod dns --file dns.yaml --or-alter`,
		RunE: func(c *cobra.Command, args []string) error {
			spec := newSpec()
			if flags.file != "" {
				var err error
				if spec, err = flags.read(f); err != nil {
					return err
				}
			}
			if err := flags.apply(c, &spec); err != nil {
				return err
			}
			if len(spec.Locations) == 0 {
				return cli.Misuse(c, "the locations are missing; give --location, or --file with locations")
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				r, err := rollout.New(box, args[0], args[1]), error(nil)
				if orAlter {
					_, err = r.Put(ctx, spec, rollout.ChangeInfo(flags.act.By(f)))
				} else {
					err = r.Create(ctx, spec, rollout.ChangeInfo(flags.act.By(f)))
				}
				return object.Changed(ctx, f, box, args, err)
			})
		},
	}
	flags.add(c, newSpecFile(newSpec()))
	c.Flags().BoolVar(&orAlter, "or-alter", false, "Alter the rollout if it exists")
	return c
}

func newAlter(f *cli.Frame) *cobra.Command {
	flags := specFlags{}
	c := &cobra.Command{
		Use:   "alter PATH NAME",
		Short: "Change the spec of a rollout",
		Long: `Changes the settings given by flags, and shows the rollout. Targets stay as they are.
--location changes the location with the given name, or adds a location at the end;
omitted parts stay: man:10s keeps the gates of man, and man:10s: removes the gates.
--remove-location removes a location with its history.

With --file, the file replaces the whole spec, including the order of locations.

Concurrent changes by several operators are all kept.`,
		Example: `  # man waits longer
  signalbox rollout alter /prod dns --location man:1m --reason 'errors show late'

  # another location at the end, and one less
  signalbox rollout alter /prod dns --location iva:5s --remove-location man

  # in an editor
  signalbox rollout spec /prod dns >dns.yaml
  vi dns.yaml
  signalbox rollout alter /prod dns --file dns.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			var file *rollout.Spec
			if flags.file != "" {
				spec, err := flags.read(f)
				if err != nil {
					return err
				}
				file = &spec
			}
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				by := rollout.ChangeInfo(flags.act.By(f))
				err := rollout.New(box, args[0], args[1]).Alter(ctx, by, func(spec *rollout.Spec) error {
					if file != nil {
						*spec = *file
					}
					return flags.apply(c, spec)
				})
				return object.Changed(ctx, f, box, args, err)
			})
		},
	}
	flags.add(c, specFile{})
	c.Flags().StringSliceVar(&flags.removed, "remove-location", nil, "`LOCATION` to remove. May be repeated")
	return c
}

func newPrintSpec(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "spec PATH NAME",
		Short: "Print the spec of a rollout as a file",
		Long: `Prints the spec of a rollout as the YAML file that signalbox rollout create --file
reads; with -o json, as one line of JSON.`,
		Example: `  signalbox rollout spec /prod dns

  # the same rollout in another node
  signalbox rollout spec /prod dns | signalbox rollout create /test dns --file -`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			state, err := rollout.New(box, args[0], args[1]).Describe(ctx)
			if err != nil {
				return err
			}
			if f.JSON() {
				return f.Object(state.Spec)
			}
			return f.YAML(newSpecFile(state.Spec))
		}),
	}
}
