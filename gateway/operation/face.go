package operation

import (
	"context"

	"github.com/signalbox/signalbox/client"
)

// Face is a command that carries an operation out. With -o json a command prints the answer as the route does.
type Face struct {
	// Use is the name of the command with the arguments and the flags: "rollout rollback PATH NAME --to [--location]".
	// A flag without brackets has to be given. Flags for author and reason are there without a word about them.
	Use string
	// Form is how the help shows the call, where the arguments do not say enough.
	Form                 string
	Short, Long, Example string
	// Sets is a value that the command gives by itself, to the field of the value's type.
	Sets any
	// Done says what a change has done: "rollout NAME is paused". Arguments stand for the texts that were given.
	Done string
	// Then is the name of a command that shows the object after the change, in place of Done.
	Then string
	// Confirm says what the change would destroy, and the user is asked first; nil for a harmless change. A change that
	// can be forced asks only where the user forces.
	Confirm func(ctx context.Context, c *client.Client, request any) (what string, err error)
	// Table shows the items of an answer; Show shows any other answer.
	Table *Table
	Show  func(request, answer any) Shown
}

// Table says how the items of an answer stand in a table. With -o json an item is an object on a line.
type Table struct {
	// Titles are the titles of the columns: +TITLE is a column of -o wide, TITLE# a column of numbers. A column +NODE
	// is always shown in a list of all nodes.
	Titles []string
	Cells  func(item any) []any
	// Items returns the items of an answer.
	Items func(answer any) []any
	// Notes says what else is to be known of the answer; nil for tables without notes.
	Notes func(answer any) []string
}

// table makes a table of the items of a List.
func table[T any](cells func(T) []any, titles ...string) *Table {
	return tableOf(func(l List[T]) []T { return l.Items }, cells, titles...)
}

// tableOf makes a table of a part of an answer.
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

// Shown is an answer as people read it.
type Shown struct {
	Fields   []Field
	Sections []Section
}

// Field is a property of a thing, with the name of the property.
type Field struct {
	Name string
	Cell any
}

// Section is a table under a title, which is left out where the table is empty.
type Section struct {
	Title  string
	Titles []string
	Rows   [][]any
}

// show makes a function for Face.Show of a function that knows the types.
func show[Q, A any](f func(q *Q, answer A) Shown) func(request, answer any) Shown {
	return func(request, answer any) Shown { return f(request.(*Q), answer.(A)) }
}

// confirm makes a function for Face.Confirm of a function that knows the type.
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
