package operation

import (
	"context"

	"github.com/signalbox/signalbox/client"
)

// Face is a command that runs an operation. With -o json a command prints the same response as the route.
type Face struct {
	// Use is the command name with arguments and flags: "rollout rollback PATH NAME --to [--location]". A flag without
	// brackets is required. Author and reason flags are added automatically.
	Use string
	// Form is the call as shown in the help, if the arguments are not sufficient.
	Form                 string
	Short, Long, Example string
	// Sets is a value that the command sets itself, in the field with the value's type.
	Sets any
	// Done describes the completed change: "rollout NAME is paused". Argument names are replaced by the given text.
	Done string
	// Then is the name of a command that shows the object after the change, in place of Done.
	Then string
	// Confirm describes what the change would destroy, for a confirmation prompt; nil for a harmless change. A change
	// that can be forced only asks if the user forces.
	Confirm func(ctx context.Context, c *client.Client, request any) (what string, err error)
	// Table shows a response's items; Show shows any other response.
	Table *Table
	Show  func(request, answer any) Shown
}

// Table defines how a response's items are shown in a table. With -o json an item is an object on a line.
type Table struct {
	// Titles are the column titles: +TITLE is a column for -o wide, TITLE# a numeric column. A column +NODE is always
	// shown in a list over all nodes.
	Titles []string
	Cells  func(item any) []any
	// Items returns a response's items.
	Items func(answer any) []any
	// Notes returns additional remarks on the response; nil for tables without notes.
	Notes func(answer any) []string
}

// table creates a table for a List's items.
func table[T any](cells func(T) []any, titles ...string) *Table {
	return tableOf(func(l List[T]) []T { return l.Items }, cells, titles...)
}

// tableOf creates a table for a section of a response.
func tableOf[A, T any](items func(answer A) []T, cells func(T) []any, titles ...string) *Table {
	return &Table{
		Titles: titles,
		Cells:  func(item any) []any { return cells(item.(T)) },
		Items: func(answer any) (list []any) {
			for _, item := range items(answer.(A)) {
				list = append(list, item)
			}
			return list
		},
	}
}

// Shown is a response as people read it.
type Shown struct {
	Fields   []Field
	Sections []Section
}

// Field is a named property.
type Field struct {
	Name string
	Cell any
}

// Section is a titled table, omitted if empty.
type Section struct {
	Title  string
	Titles []string
	Rows   [][]any
}

// show converts a typed function into a Face.Show function.
func show[Q, A any](f func(q *Q, answer A) Shown) func(request, answer any) Shown {
	return func(request, answer any) Shown { return f(request.(*Q), answer.(A)) }
}

// confirm converts a typed function into a Face.Confirm function.
func confirm[Q any](
	f func(ctx context.Context, c *client.Client, q *Q) (string, error),
) func(context.Context, *client.Client, any) (string, error) {
	return func(ctx context.Context, c *client.Client, request any) (string, error) {
		return f(ctx, c, request.(*Q))
	}
}

// noting returns the table with notes.
func noting[A any](t *Table, notes func(answer A) []string) *Table {
	t.Notes = func(answer any) []string { return notes(answer.(A)) }
	return t
}
