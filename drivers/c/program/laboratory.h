/* What the laboratory says on standard input, line by line. The process ends at once when that ends. */
#ifndef LABORATORY_H
#define LABORATORY_H

enum order { NO_ORDER, GO, END, BAD_GO };

/* What a line orders; `go` with the length of a slice, which is then in `length_s`. */
enum order order_of(const char *line, double *length_s);

/* Takes in what has arrived, or waits for something. */
void take_in(void);

/* The next line, to be freed. */
char *read_line(void);

/* The next order, GO or END; a `go` without a length that can be is refused. */
enum order next_order(double *length_s);

/* Returns at the end of standard input, which from now on is in order. */
void wait_for_end(void);

#endif
