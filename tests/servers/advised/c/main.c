// The application is in mysql, which the build of the drivers in C compiles with this.
